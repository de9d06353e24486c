//! Decoding branches, exits, barriers, votes and shuffles, and the instructions that have no effect here.

use super::words::Words;
use super::{Decoded, One, expected, small, unsupported};
use crate::machine::graph::Flow;
use crate::machine::operation::{Bank, CollectiveOp, Op, Shuffle, Vote};
use crate::ptx::{Operand, ScalarType};

use ScalarType::{B32, Pred, U32};

impl One<'_, '_> {
    pub(super) fn control(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        match self.ptx.opcode.as_str() {
            "bra" => self.bra(words),
            "ret" | "exit" => self.exit(words),
            "trap" => {
                self.operands::<0>()?;
                self.emit(Op::Trap, [0; 4]);
                Ok(())
            }
            "bar" | "barrier" => self.barrier(words),
            "membar" | "fence" | "nanosleep" | "prefetch" | "prefetchu" | "pmevent" => {
                self.nothing(words);
                Ok(())
            }
            "activemask" => {
                words.ty()?;
                let [d] = self.operands()?.clone();
                let d = self.destination(&d, B32)?;
                self.emit(Op::Collective(CollectiveOp::ActiveMask), [d, 0, 0, 0]);
                Ok(())
            }
            "vote" => self.vote(words),
            "shfl" => self.shuffle(words),
            other => unsupported(&format!("instruction `{other}`")),
        }
    }

    fn bra(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        words.flag("uni");
        let &[Operand::Label(target)] = self.operands()? else {
            return expected("a label", "another operand");
        };
        self.item.flow = Some(Flow::Branch { target, conditional: self.ptx.guard.is_some() });
        self.emit(Op::Branch { target: small(target), reconvergence: u32::MAX }, [0; 4]);
        Ok(())
    }

    fn exit(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        words.flag("uni");
        self.operands::<0>()?;
        self.item.flow = Some(Flow::Exit { conditional: self.ptx.guard.is_some() });
        self.emit(Op::Exit, [0; 4]);
        Ok(())
    }

    fn barrier(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        words.flag("cta");
        words.flag("aligned");
        if words.flag("warp") {
            words.flag("sync");
            let [members] = self.operands()?.clone();
            self.source(&members, B32)?;
            self.emit(Op::WarpBarrier, [0; 4]);
            return Ok(());
        }
        if !words.flag("sync") {
            return unsupported("a barrier other than `.sync`");
        }
        match self.ptx.operands.as_slice() {
            [Operand::Integer(id)] if *id < 16 => {
                self.emit(Op::Barrier(u8::try_from(*id).unwrap_or(0)), [0; 4]);
                Ok(())
            }
            [_] => unsupported("a barrier number that is no constant below 16"),
            _ => unsupported("a barrier for a part of the block"),
        }
    }

    /// Fences order nothing here, since every access takes effect at once; hints have no effect anywhere.
    fn nothing(&mut self, words: &mut Words<'_>) {
        while words.find(|_| Some(())).is_some() {}
        self.emit(Op::Move(Bank::Predicate), [0; 4]);
    }

    fn vote(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        let ty = words.ty()?;
        if !words.flag("sync") {
            return unsupported("a vote without `.sync`");
        }
        let vote = match words.one_of(&["all", "any", "uni", "ballot"]) {
            Some("all") => Vote::All,
            Some("any") => Vote::Any,
            Some("uni") => Vote::Uniform,
            Some(_) => Vote::Ballot,
            None => return unsupported("this kind of vote"),
        };
        let [d, a, members] = self.operands()?.clone();
        let (a, flip) = match a {
            Operand::Negated(id) => (self.register(id, Bank::Predicate, "a predicate")?, u32::MAX),
            other => (self.source(&other, Pred)?, 0),
        };
        let members = self.source(&members, B32)?;
        let wanted = if matches!(vote, Vote::Ballot) { B32 } else { Pred };
        if ty != wanted {
            return unsupported(&format!("type .{}", ty.name()));
        }
        let d = self.destination(&d, wanted)?;
        self.emit(Op::Collective(CollectiveOp::Vote { vote, flip }), [d, a, members, 0]);
        Ok(())
    }

    fn shuffle(&mut self, words: &mut Words<'_>) -> Decoded<()> {
        words.ty()?;
        if !words.flag("sync") {
            return unsupported("a shuffle without `.sync`");
        }
        let shuffle = match words.one_of(&["up", "down", "bfly", "idx"]) {
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("bfly") => Shuffle::Butterfly,
            Some(_) => Shuffle::Index,
            None => return unsupported("this kind of shuffle"),
        };
        let [d, a, b, c, members] = self.operands()?.clone();
        let [a, b, c, members] =
            [(a, B32), (b, U32), (c, U32), (members, U32)].map(|(o, ty)| self.source(&o, ty));
        let (a, b, c, members) = (a?, b?, c?, members?);
        let (d, predicate) = match d {
            Operand::Pair(d, p) => {
                let p = self.destination(&Operand::Register(p), Pred)?;
                (self.destination(&Operand::Register(d), B32)?, p)
            }
            other => (self.destination(&other, B32)?, 0),
        };
        self.emit(Op::Collective(CollectiveOp::Shuffle { shuffle, predicate, members }), [d, a, b, c]);
        Ok(())
    }
}
