//! What a call has said, kept so that it can be heard again: a client of a session that lost its connection
//! comes back with the id of the last event that it heard, and hears the rest.
//!
//! A call never waits for a client that does not read. What is kept is bounded, so such a client costs no more
//! than that, and what it misses first is the oldest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use tokio::sync::watch;

/// How many bytes are kept of what a call says before its answer.
const SAID: usize = 256 << 10;

/// How many bytes a session keeps of calls that have ended.
const ENDED: usize = 1 << 20;

/// What one call says: the speaker's end.
#[derive(Clone)]
pub(super) struct Speaker(Arc<watch::Sender<Record>>);

#[derive(Default)]
struct Record {
    /// How many messages were said and are forgotten.
    forgotten: u64,
    messages: VecDeque<Bytes>,
    size: usize,
    answer: Option<Answer>,
    /// Which of those who came to listen is heard by the client: the last one.
    turn: u64,
}

/// The last thing that a call says, with the error code when it is a protocol error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) message: Bytes,
    pub(super) fault: Option<i32>,
}

/// One thing that a call has said. Places are counted from 1.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    Note { place: u64, message: Bytes },
    Answer { place: u64, answer: Answer },
}

impl Record {
    /// What comes after a place, as far as it is remembered.
    fn after(&self, place: u64) -> Option<Heard> {
        let index = place.saturating_sub(self.forgotten);
        let place = self.forgotten + index + 1;
        match self.messages.get(usize::try_from(index).ok()?) {
            Some(message) => Some(Heard::Note { place, message: message.clone() }),
            None => self.answer.clone().map(|answer| Heard::Answer { place, answer }),
        }
    }
}

impl Speaker {
    /// Somebody who speaks, and the first who listens.
    pub(super) fn new() -> (Speaker, Listener) {
        let (sender, receiver) = watch::channel(Record::default());
        (Speaker(Arc::new(sender)), Listener { record: receiver, turn: 0, place: 0 })
    }

    /// Says something. After the answer there is nobody to hear it.
    pub(super) fn say(&self, message: Bytes) {
        self.0.send_modify(|record| {
            if record.answer.is_some() {
                return;
            }
            record.size += message.len();
            record.messages.push_back(message);
            while record.size > SAID && record.messages.len() > 1 {
                record.size -= record.messages.pop_front().map_or(0, |oldest| oldest.len());
                record.forgotten += 1;
            }
        });
    }

    /// Says the last thing.
    pub(super) fn end(&self, answer: Answer) {
        self.0.send_modify(|record| record.answer = Some(answer));
    }

    /// Listens from after a place on, instead of whoever listened so far.
    fn listen_after(&self, place: u64) -> Listener {
        let mut turn = 0;
        self.0.send_modify(|record| {
            record.turn += 1;
            turn = record.turn;
        });
        Listener { record: self.0.subscribe(), turn, place }
    }

    /// How much is kept of a call that has ended.
    fn ended_size(&self) -> Option<usize> {
        let record = self.0.borrow();
        record.answer.as_ref().map(|answer| record.size + answer.message.len())
    }
}

/// Hears what a call says.
pub(super) struct Listener {
    record: watch::Receiver<Record>,
    turn: u64,
    /// What was heard last.
    place: u64,
}

impl Listener {
    /// What is said next. `None` when another one listens now, or when the call has gone without an answer.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        let (turn, place) = (self.turn, self.place);
        let record =
            self.record.wait_for(|record| record.turn != turn || record.after(place).is_some()).await.ok()?;
        if record.turn != turn {
            return None;
        }
        let heard = record.after(place)?;
        self.place = match &heard {
            Heard::Note { place, .. } | Heard::Answer { place, .. } => *place,
        };
        Some(heard)
    }
}

/// The calls of one session whose words can be asked for again.
#[derive(Default)]
pub(super) struct Streams(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    count: u64,
    streams: VecDeque<(u64, Speaker)>,
}

impl Streams {
    /// Keeps what a call says, and tells the name to ask for it by.
    pub(super) fn keep(&self, speaker: &Speaker) -> u64 {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest first: those that have ended go when the session keeps enough without them.
        let mut size = 0;
        let mut streams = std::mem::take(&mut kept.streams);
        let mut stay: Vec<_> = Vec::with_capacity(streams.len() + 1);
        while let Some((name, stream)) = streams.pop_back() {
            size += stream.ended_size().unwrap_or(0);
            if stream.ended_size().is_none() || size <= ENDED {
                stay.push((name, stream));
            }
        }
        kept.streams = stay.into_iter().rev().collect();
        kept.count += 1;
        let name = kept.count;
        kept.streams.push_back((name, speaker.clone()));
        name
    }

    /// Listens to a call again, from after a place on.
    pub(super) fn listen(&self, name: u64, place: u64) -> Option<Listener> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, speaker) = kept.streams.iter().find(|(kept, _)| *kept == name)?;
        Some(speaker.listen_after(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(place: u64, message: &'static str) -> Option<Heard> {
        Some(Heard::Note { place, message: Bytes::from_static(message.as_bytes()) })
    }

    fn answer(message: impl Into<Bytes>) -> Answer {
        Answer { message: message.into(), fault: None }
    }

    #[tokio::test]
    async fn whoever_comes_back_hears_the_rest() {
        let (speaker, mut first) = Speaker::new();
        let streams = Streams::default();
        let name = streams.keep(&speaker);
        speaker.say("one".into());
        speaker.say("two".into());
        assert_eq!(first.next().await, note(1, "one"));
        let mut second = streams.listen(name, 1).unwrap();
        assert_eq!(second.next().await, note(2, "two"));
        assert_eq!(first.next().await, None, "each message goes to one connection");
        speaker.end(answer("three"));
        assert_eq!(second.next().await, Some(Heard::Answer { place: 3, answer: answer("three") }));
        // It may have been lost on its way.
        let mut third = streams.listen(name, 2).unwrap();
        assert_eq!(third.next().await, Some(Heard::Answer { place: 3, answer: answer("three") }));
        assert!(streams.listen(name + 1, 0).is_none());
    }

    #[tokio::test]
    async fn a_call_that_is_gone_is_not_waited_for() {
        let (speaker, mut listener) = Speaker::new();
        speaker.say("one".into());
        drop(speaker);
        assert_eq!(listener.next().await, note(1, "one"));
        assert_eq!(listener.next().await, None);
    }

    #[tokio::test]
    async fn what_nobody_reads_is_forgotten_oldest_first() {
        let (speaker, mut listener) = Speaker::new();
        for _ in 0..10 {
            speaker.say(vec![b'x'; SAID / 4].into());
        }
        let mut places = Vec::new();
        speaker.end(answer("done"));
        loop {
            match listener.next().await.unwrap() {
                Heard::Note { place, .. } => places.push(place),
                Heard::Answer { place, .. } => break assert_eq!((places, place), (vec![7, 8, 9, 10], 11)),
            }
        }
    }

    #[test]
    fn a_session_keeps_what_runs_and_the_newest_of_what_has_ended() {
        let streams = Streams::default();
        let (running, _) = Speaker::new();
        let running_name = streams.keep(&running);
        let ended: Vec<_> = (0..5)
            .map(|_| {
                let (speaker, _) = Speaker::new();
                let name = streams.keep(&speaker);
                speaker.end(answer(vec![b'x'; ENDED / 2]));
                name
            })
            .collect();
        streams.keep(&Speaker::new().0);
        assert!(streams.listen(running_name, 0).is_some());
        let kept: Vec<_> = ended.iter().filter(|name| streams.listen(**name, 0).is_some()).collect();
        assert_eq!(kept, [&ended[3], &ended[4]]);
    }
}
