//! What a driver notices of work that is under way.

use std::collections::BTreeMap;

use codeteam_core::context::{PackedContext, PackedPart};
use codeteam_core::event::HostTraffic;
use codeteam_core::ids::EpochMillis;
use codeteam_core::{Effect, Input};

/// What is noticed of a worker before it has done anything.
pub(crate) fn observed(effect: &Effect, done: &str, at: EpochMillis) -> Option<Input> {
    let id = effect.attempt()?.clone();
    let (verb, rest) = done.split_once(' ')?;
    match verb {
        "sees" => {
            let tokens = rest.parse().unwrap();
            let part = PackedPart {
                name: "target".to_owned(),
                tokens,
                files: 1,
                ..PackedPart::default()
            };
            let packed = Box::new(PackedContext {
                strategy: "targeted".to_owned(),
                budget: 15_000,
                tokens,
                parts: vec![part],
                redacted: BTreeMap::from([(".env".to_owned(), 1)]),
            });
            Some(Input::ContextPacked { at, id, packed })
        }
        "asks" => {
            let hosts = vec![HostTraffic {
                host: format!("{rest}:443"),
                allowed: 2,
                denied: 1,
                sent: 500,
                received: 9_000,
                ..HostTraffic::default()
            }];
            Some(Input::NetworkUsed { at, id, hosts })
        }
        _ => None,
    }
}
