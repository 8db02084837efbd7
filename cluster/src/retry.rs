//! Runs something again when a process is lost.

use std::fmt::Display;

use crate::error::Error;

/// Why an attempt failed.
pub struct Undone<E> {
    /// What went wrong.
    pub error: Box<E>,
    /// The host that was lost, if another attempt may be made.
    pub lost: Option<String>,
}

impl From<Error> for Undone<Error> {
    fn from(error: Error) -> Undone<Error> {
        Undone { lost: error.lost().map(String::from), error: Box::new(error) }
    }
}

/// The hosts without those that were lost, or all of them if all were lost.
pub fn remaining<H>(mut hosts: Vec<H>, without: &[String], name: impl Fn(&H) -> &String) -> Vec<H> {
    if hosts.iter().any(|host| !without.contains(name(host))) {
        hosts.retain(|host| !without.contains(name(host)));
    }
    hosts
}

/// Calls `attempt`, and calls it again while a host is lost, at most `retries` times. `attempt` gets the hosts that it
/// is to leave out. `warn` gets the error and `text`, which says what is done again. With `local_parts` some data lies
/// on each host alone, so no host is left out.
///
/// # Errors
/// Errors of the last attempt.
pub fn retried<E: Display>(
    retries: u32,
    local_parts: bool,
    text: &str,
    warn: impl Fn(String),
    mut attempt: impl FnMut(&[String]) -> Result<(), Undone<E>>,
) -> Result<(), E> {
    let mut without = Vec::new();
    for _ in 0..retries {
        let Err(Undone { error, lost }) = attempt(&without) else { return Ok(()) };
        let Some(lost) = lost else { return Err(*error) };
        if local_parts {
            warn(format!("{error}\n  {text} again"));
        } else {
            warn(format!("{error}\n  {text} again, without {lost} if there are other hosts"));
            without.push(lost);
        }
    }
    attempt(&without).map_err(|undone| *undone.error)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// What was warned of, and how it ended, where these hosts are lost one after another.
    fn outcome(retries: u32, local_parts: bool, lost: &[Option<&str>]) -> (Vec<String>, Result<(), String>) {
        let (warnings, mut lost) = (RefCell::new(Vec::new()), lost.iter());
        let attempt = |without: &[String]| match lost.next() {
            None => Ok(()),
            Some(lost) => {
                let error = format!("all but {without:?}");
                Err(Undone { error: Box::new(error), lost: lost.map(String::from) })
            }
        };
        let warn = |text| warnings.borrow_mut().push(text);
        let done = retried(retries, local_parts, "it is done", warn, attempt);
        (warnings.into_inner(), done)
    }

    #[test]
    fn what_is_lost_is_left_out_as_often_as_asked() {
        assert_eq!(outcome(0, false, &[]), (vec![], Ok(())));
        assert_eq!(outcome(0, false, &[Some("a")]), (vec![], Err("all but []".into())));
        assert_eq!(outcome(5, false, &[None]), (vec![], Err("all but []".into())));
        let again = |before: &str, lost| {
            format!("all but {before}\n  it is done again, without {lost} if there are other hosts")
        };
        let both = vec![again("[]", "a"), again("[\"a\"]", "b")];
        assert_eq!(outcome(2, false, &[Some("a"), Some("b")]), (both, Ok(())));
        let told = vec![again("[]", "a")];
        assert_eq!(outcome(1, false, &[Some("a"), Some("b")]), (told, Err("all but [\"a\"]".into())));
        let kept = vec!["all but []\n  it is done again".to_string()];
        assert_eq!(outcome(1, true, &[Some("a")]), (kept, Ok(())));
    }
}
