//! States of a draft (clean, dirty, refused), and the transitions between them.
//!
//! | state | meaning |
//! |---|---|
//! | clean | its text is stored, or is nothing that could be stored |
//! | dirty | something was written since |
//! | refused | its text could not be stored, for a reason |
//!
//! [`DraftStatus::after`] is the whole state machine: it returns the next state and
//! the action for each event. It touches no file and no other draft.

/// Why a text was not saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    /// The first reason that kept this text from being saved.
    pub(super) reason: String,
    /// Whether the same text may be saved later, as after a full disk.
    pub(super) may_retry: bool,
    /// Whether the text is in `rejected/`.
    pub(super) is_kept: bool,
}

/// The state of a draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum DraftStatus {
    #[default]
    Clean,
    Dirty {
        /// Whether the text before was refused: then a copy of that may be in
        /// `rejected/`, which goes when this one is saved.
        was_refused: bool,
    },
    Refused(Rejection),
}

/// What happens to a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DraftEvent {
    /// Something was written to it.
    Written,
    /// A program closed or synced it.
    Flushed(Becomes),
    /// Its text is stored.
    Saved,
    /// Its text is not stored.
    Refused(Rejection),
    /// Nobody writes it any more, or the mount ends.
    Ended { has_text: bool },
}

/// What the text of a draft is to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Becomes {
    /// Nothing: it is an editor's own file, or empty.
    Nothing,
    /// One game, or several.
    Games,
    /// Nothing, though it was to be a game: another file has its name.
    Replaced,
}

/// The action that follows an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// Save the text; [`DraftEvent::Saved`] or [`DraftEvent::Refused`] follows.
    Save,
    /// Refuse it, since its name went to another file; [`DraftEvent::Refused`]
    /// follows.
    RefuseReplaced,
    /// Answer with this reason once more.
    Repeat(String),
    /// Keep the text in `rejected/`; [`DraftEvent::Refused`] follows.
    Keep,
}

impl DraftStatus {
    /// The state after an event, and what is to be done.
    pub(super) fn after(self, event: DraftEvent) -> (DraftStatus, Effect) {
        use DraftStatus::{Clean, Dirty, Refused};
        match (self, event) {
            (Clean, DraftEvent::Written) => (Dirty { was_refused: false }, Effect::Nothing),
            (dirty @ Dirty { .. }, DraftEvent::Written) => (dirty, Effect::Nothing),
            (Refused(_), DraftEvent::Written) => (Dirty { was_refused: true }, Effect::Nothing),

            (Refused(why), DraftEvent::Flushed(_)) if !why.may_retry => {
                let reason = why.reason.clone();
                (Refused(why), Effect::Repeat(reason))
            }
            (Clean, DraftEvent::Flushed(_)) | (_, DraftEvent::Flushed(Becomes::Nothing)) => {
                (Clean, Effect::Nothing)
            }
            (unsaved, DraftEvent::Flushed(Becomes::Games)) => (unsaved, Effect::Save),
            (unsaved, DraftEvent::Flushed(Becomes::Replaced)) => (unsaved, Effect::RefuseReplaced),

            (_, DraftEvent::Saved) => (Clean, Effect::Nothing),
            (Refused(before), DraftEvent::Refused(why)) => {
                let first = Rejection {
                    reason: before.reason,
                    ..why
                };
                (Refused(first), Effect::Nothing)
            }
            (_, DraftEvent::Refused(why)) => (Refused(why), Effect::Nothing),

            (unsaved, DraftEvent::Ended { has_text: true }) if unsaved.would_be_lost() => {
                (unsaved, Effect::Keep)
            }
            (state, DraftEvent::Ended { .. }) => (state, Effect::Nothing),
        }
    }

    /// Whether the text is neither stored nor in `rejected/`.
    fn would_be_lost(&self) -> bool {
        match self {
            DraftStatus::Clean => false,
            DraftStatus::Dirty { .. } => true,
            DraftStatus::Refused(why) => !why.is_kept,
        }
    }

    /// Whether this text, or the one before it, was refused.
    pub(super) fn was_refused(&self) -> bool {
        match self {
            DraftStatus::Clean => false,
            DraftStatus::Dirty { was_refused } => *was_refused,
            DraftStatus::Refused(_) => true,
        }
    }

    /// Returns the reason to report if the same text is refused for `why`
    /// again: the first one.
    pub(super) fn first_reason(&self, why: &str) -> String {
        match self {
            DraftStatus::Refused(before) => before.reason.clone(),
            _ => why.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(reason: &str, may_retry: bool, is_kept: bool) -> Rejection {
        Rejection {
            reason: reason.to_owned(),
            may_retry,
            is_kept,
        }
    }

    fn all_states() -> Vec<DraftStatus> {
        let mut all = vec![DraftStatus::Clean];
        for flag in [false, true] {
            all.push(DraftStatus::Dirty { was_refused: flag });
            for other in [false, true] {
                all.push(DraftStatus::Refused(rejection("first", flag, other)));
            }
        }
        all
    }

    fn all_events() -> Vec<DraftEvent> {
        let mut all = vec![DraftEvent::Written, DraftEvent::Saved];
        for becomes in [Becomes::Nothing, Becomes::Games, Becomes::Replaced] {
            all.push(DraftEvent::Flushed(becomes));
        }
        for flag in [false, true] {
            all.push(DraftEvent::Ended { has_text: flag });
            for other in [false, true] {
                all.push(DraftEvent::Refused(rejection("second", flag, other)));
            }
        }
        all
    }

    /// What must hold of each state and each event, said another way than the
    /// transition says it.
    #[test]
    fn each_event_does_to_each_state_what_it_should() {
        for (state, event) in all_states().into_iter().flat_map(|state| {
            all_events()
                .into_iter()
                .map(move |event| (state.clone(), event))
        }) {
            let (after, effect) = state.clone().after(event.clone());
            let case = format!("{state:?}, {event:?}: {after:?}, {effect:?}");
            let is_clean = state == DraftStatus::Clean;
            let is_final = matches!(&state, DraftStatus::Refused(why) if !why.may_retry);
            let is_unkept = match &state {
                DraftStatus::Refused(why) => !why.is_kept,
                other => *other != DraftStatus::Clean,
            };
            let is_to_be = match &event {
                DraftEvent::Written => {
                    assert_eq!(after.was_refused(), state.was_refused(), "{case}");
                    assert!(matches!(after, DraftStatus::Dirty { .. }), "{case}");
                    Effect::Nothing
                }
                DraftEvent::Saved => {
                    assert_eq!(after, DraftStatus::Clean, "{case}");
                    Effect::Nothing
                }
                DraftEvent::Refused(why) => {
                    let DraftStatus::Refused(now) = &after else {
                        panic!("{case}");
                    };
                    let is_again = matches!(state, DraftStatus::Refused(_));
                    assert_eq!(now.reason, if is_again { "first" } else { "second" });
                    assert_eq!(
                        (now.may_retry, now.is_kept),
                        (why.may_retry, why.is_kept),
                        "{case}"
                    );
                    assert_eq!(state.first_reason("second"), now.reason);
                    Effect::Nothing
                }
                DraftEvent::Flushed(becomes) => {
                    let is_forgotten = *becomes == Becomes::Nothing && !is_final;
                    let expected = if is_forgotten {
                        &DraftStatus::Clean
                    } else {
                        &state
                    };
                    assert_eq!(after, *expected, "{case}");
                    match becomes {
                        _ if is_clean => Effect::Nothing,
                        _ if is_final => Effect::Repeat("first".to_owned()),
                        Becomes::Nothing => Effect::Nothing,
                        Becomes::Games => Effect::Save,
                        Becomes::Replaced => Effect::RefuseReplaced,
                    }
                }
                DraftEvent::Ended { has_text } => {
                    assert_eq!(after, state, "{case}");
                    if *has_text && is_unkept {
                        Effect::Keep
                    } else {
                        Effect::Nothing
                    }
                }
            };
            assert_eq!(effect, is_to_be, "{case}");
        }
    }

    /// Whatever happens: a text that is not stored is saved, refused or kept
    /// before it goes, and only a save makes it clean.
    #[test]
    fn a_dirty_text_is_never_forgotten() {
        for was_refused in [false, true] {
            let dirty = DraftStatus::Dirty { was_refused };
            let keeps = dirty.clone().after(DraftEvent::Ended { has_text: true });
            assert_eq!(keeps, (dirty.clone(), Effect::Keep));
            for becomes in [Becomes::Games, Becomes::Replaced] {
                let (after, effect) = dirty.clone().after(DraftEvent::Flushed(becomes));
                assert_eq!(after, dirty);
                assert_ne!(effect, Effect::Nothing);
            }
        }
    }
}
