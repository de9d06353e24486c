//! The numbers against what is known of them: eighty digits of every function from mpmath (110 digits computed, the
//! arguments taken as exact doubles), identities, and the way back to f64 against the integers of the language.

use f256::f256;
use plumbline_reference::number::Number;

use super::{Dual, Octuple};
use crate::support::Random;

/// Two units in the last place of 237 bits.
const TINY: f64 = 1.81e-71;

fn octuple(value: f64) -> Octuple {
    Octuple::from_f64(value)
}

/// The relative distance of two numbers.
fn apart(one: Octuple, two: Octuple) -> f64 {
    if one == two { 0.0 } else { ((one - two) / two).abs().to_f64() }
}

fn agrees(name: &str, rows: &[(f64, &str)], function: impl Fn(Octuple) -> Octuple, tolerance: f64) {
    for &(argument, digits) in rows {
        let known = Octuple(digits.parse().unwrap());
        let apart = apart(function(octuple(argument)), known);
        assert!(apart <= tolerance, "{name}({argument}) is off by {apart:e}");
    }
}

#[test]
fn functions_agree_with_eighty_known_digits() {
    agrees("exp", &EXP, Number::exp, TINY);
    agrees("exp_m1", &EXP_M1, Number::exp_m1, TINY);
    agrees("ln_1p", &LN_1P, Number::ln_1p, TINY);
    agrees("sqrt", &SQRT, Number::sqrt, TINY);
    agrees("sin", &SIN, |x| x.sin_cos().0, TINY);
    agrees("cos", &COS, |x| x.sin_cos().1, TINY);
    // Made of an expm1 and three operations.
    agrees("tanh", &TANH, Number::tanh, 4.0 * TINY);
}

#[test]
fn identities_hold_to_seventy_digits() {
    let mut random = Random(7);
    for _ in 0..200 {
        let x = octuple(random.between(-30.0, 30.0));
        let one = octuple(1.0);
        assert!(apart(x.exp() * (-x).exp(), one) < 4.0 * TINY, "exp {x:?}");
        assert!(apart(x.exp_m1() + one, x.exp()) < 1e14 * TINY * (-x).exp().to_f64().max(1.0), "expm1 {x:?}");
        let (sin, cos) = x.sin_cos();
        assert!(apart(sin * sin + cos * cos, one) < 4.0 * TINY, "circle {x:?}");
        let positive = x.abs() + one;
        assert!(apart((positive - one).ln_1p().exp(), positive) < 10.0 * TINY, "logarithm {x:?}");
        let root = positive.sqrt();
        assert!(apart(root * root, positive) < 4.0 * TINY, "root {x:?}");
    }
}

#[test]
fn the_way_back_to_f64_rounds_like_the_language() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let wide = u128::from(random.bits()) << 64 | u128::from(random.bits());
        let whole = match random.below(3) {
            0 => wide >> random.below(128),
            // Close to a half-way point of 53 bits, and on it.
            1 => (wide >> 75 << 11 | 1 << 10) << 30 | u128::from(random.chance(0.5)),
            _ => u128::MAX - (wide >> 70),
        };
        assert_eq!(Octuple(f256::from(whole)).to_f64(), whole as f64, "{whole}");
        assert_eq!((-Octuple(f256::from(whole))).to_f64(), -(whole as f64), "{whole}");
    }
}

#[test]
fn the_way_back_to_f64_is_right_at_both_ends() {
    let smallest = octuple(f64::from_bits(1));
    let half = smallest.times(0.5);
    let little = smallest.times(1e-60);
    assert_eq!(half.to_f64(), 0.0, "a tie goes to even");
    assert_eq!((half + little).to_f64(), f64::from_bits(1));
    assert_eq!((smallest + half).to_f64(), f64::from_bits(2), "a tie goes to even");
    assert_eq!((smallest + half - little).to_f64(), f64::from_bits(1));
    assert_eq!(little.to_f64(), 0.0);
    let largest = octuple(f64::MAX);
    let spacing = octuple(f64::MAX - f64::MAX.next_down());
    assert_eq!((largest + spacing.times(0.49)).to_f64(), f64::MAX);
    assert_eq!((largest + spacing.times(0.5)).to_f64(), f64::INFINITY);
    assert_eq!((-largest * largest).to_f64(), f64::NEG_INFINITY);
    assert!((octuple(0.0) / octuple(0.0)).to_f64().is_nan());
    for value in [0.0, 1.0, -0.1, f64::MIN_POSITIVE, -1e-310, f64::MAX, f64::INFINITY] {
        assert_eq!(octuple(value).to_f64(), value);
    }
}

#[test]
fn an_error_far_below_a_double_is_seen() {
    let third = octuple(1.0) / octuple(3.0);
    // 1/3 in binary is 0.010101..., cut after 54 places: a third of the last one is missing.
    assert_eq!(third.minus(1.0 / 3.0), 2.0f64.powi(-54) / 3.0);
}

#[test]
fn derivatives_have_seventy_digits_too() {
    let x = Dual::new(octuple(0.7), octuple(1.0));
    let tanh = x.tanh();
    let expected = octuple(1.0) - tanh.value * tanh.value;
    assert!(apart(tanh.slope, expected) < 20.0 * TINY);
}

const EXP: [(f64, &str); 8] = [
    (1.0, "2.7182818284590452353602874713526624977572470936999595749669676277240766303535476"),
    (-1.0, "3.6787944117144232159552377016146086744581113103176783450783680169746149574489980e-1"),
    (0.1, "1.1051709180756476309466388234587796577416634163742196208414834613107092570533555"),
    (-20.5, "1.2501528663867426289375531192312221822715946420765658493382246774429840985064563e-9"),
    (-700.25, "7.6787238131108722116498874443789444596925344636010727402511464389581813877611046e-305"),
    (-10000.0, "1.1354838653147360985409388750662484019574316100903188426715526591573043024127392e-4343"),
    (1e-30, "1.0000000000000000000000000000010000000000000000833364206075864853509313360269520"),
    (3.5, "3.3115451958692313750653249350388616292471728226477940988860948406599827859098860e+1"),
];

const EXP_M1: [(f64, &str); 8] = [
    (1e-20, "9.9999999999999994515827145420957165118105308399615484532975334587881397656387225e-21"),
    (-1e-20, "-9.9999999999999994514827145420957165227798765491196338221352686673350644299486250e-21"),
    (-1e-6, "-9.9999950000016662137315708608513880725379470740247831842051984315417478737723126e-7"),
    (-0.5, "-3.9346934028736657639620046500881954655808186451281304431710784126494348058625158e-1"),
    (-40.0, "-9.9999999999999999575164574470841100467076521714134198212043444583355371194918108e-1"),
    (2.0, "6.3890560989306502272304274605750078131803155705518473240871278225225737960790578"),
    (-1.0, "-6.3212055882855767840447622983853913255418886896823216549216319830253850425510020e-1"),
    (-3e-70, "-3.0000000000000001478592751595639935081018050002406953206851699675802976798002181e-70"),
];

const LN_1P: [(f64, &str); 6] = [
    (1.0, "6.9314718055994530941723212145817656807550013436025525412068000949339362196969472e-1"),
    (1e-20, "9.9999999999999994514827145420957165227800432157863004887745098863955025506123619e-21"),
    (0.1, "9.5310179804324865090420417031476626867328191260400353017978040484172939145319948e-2"),
    (3.7e-44, "3.6999999999999999878618470628985630913460571625029713492979030145339017567427914e-44"),
    (0.9999, "6.9309717930990364669498450340556896492193875959211781153913468218716470522003628e-1"),
    (1e-75, "9.9999999999999995765001370096376884491285850700308643802436708920370749451732252e-76"),
];

const SQRT: [(f64, &str); 4] = [
    (2.0, "1.4142135623730950488016887242096980785696718753769480731766797379907324784621070"),
    (0.1, "3.1622776601683794197697302588502426416723164097476619207574684674535418163882660e-1"),
    (1e-300, "1.0000000000000000125295459176043797643533129531735631715095592523113193463432607e-150"),
    (3e20, "1.7320508075688772935274463415058723669428052538103806280558069794519330169088000e+10"),
];

const SIN: [(f64, &str); 6] = [
    (1.0, "8.4147098480789650665250232163029899962256306079837106567275170999191040439123967e-1"),
    (0.1, "9.9833416646828157830196867858616667735965572134370154145988067156000106871898533e-2"),
    (-3.0, "-1.4112000805986722210074480280811027984693326425226558415188264123242200996701447e-1"),
    (100.0, "-5.0636564110975879365655761045978543206503272129065732344339247359435791341947670e-1"),
    (1e-10, "1.0000000000000000364305306488310749123167202456888175611248667553723913487031330e-10"),
    (6.25, "-3.3179216547556816877445670789292687338166510778166640451093327338105844448479241e-2"),
];

const COS: [(f64, &str); 6] = [
    (1.0, "5.4030230586813971740093660744297660373231042061792222767009725538110039477447176e-1"),
    (0.1, "9.9500416527802576554137519886234525634808008351527726792462543996274496364390154e-1"),
    (-3.0, "-9.8999249660044545727157279473126130239367909661558832881408593292832919751313322e-1"),
    (100.0, "8.6231887228768393410193851395084253551008400853551082928016211269272108805092662e-1"),
    (1e-10, "9.9999999999999999999499999999999999963568219351168924423909339173356877038074774e-1"),
    (1.5625, "8.2962316238583774779064583372156289738830072478408249657656205197937616957168033e-3"),
];

const TANH: [(f64, &str); 5] = [
    (1.0, "7.6159415595576488811945828260479359041276859725793655159681050012195324457663848e-1"),
    (-0.3, "-2.9131261245159089565816001576939894826172203912786264698219293371059979680918509e-1"),
    (1e-12, "9.9999999999999997988664729592228203391953028614869341039919196117151825034175292e-13"),
    (20.0, "9.9999999999999999150329148941682204543855819119098725713047456422766385013396305e-1"),
    (-2.5, "-9.8661429815143028888127603923734963921251198218540693946157551388023183217084164e-1"),
];
