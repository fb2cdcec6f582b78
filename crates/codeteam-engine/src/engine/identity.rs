//! Who made a decision: the user id of a process, or a signature.
//!
//! **Invariant:** an identity is believed only if somebody else than the person could not have made
//! it. The inbox is a table in a file: whoever can write the file can write any user id there. So a
//! user id in the inbox is believed only if it is that of the file's owner and nobody else may write
//! the file. Everybody else signs, and the signature covers the run, the question, the tree and the
//! answer, so that it is worth nothing for another one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use codeteam_core::Run;
use codeteam_core::approval::{Identity, IdentityProof, Person};
use codeteam_core::ids::PersonName;
use codeteam_core::input::Decision;
use codeteam_host::process;

use super::Engine;
use super::kept::PostedDecision;
use crate::config::person_for_uid;
use crate::people;

/// A decision that cannot be signed, or a signature that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// Only an answer to a question for approval is signed.
    #[error("only a decision about a change that waits for an approval can be signed")]
    NothingToSign,
    /// No key was named.
    #[error("there is no key to sign with: name one with `--key`, or set git's `user.signingKey`")]
    NoKey,
    /// `ssh-keygen` failed.
    #[error("`ssh-keygen` did not sign: {0}")]
    Program(String),
    /// A file could not be written or read.
    #[error("could not sign with `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

impl Engine {
    /// Returns who this process decides for, by its user id.
    pub fn own_identity(&self) -> Identity {
        self.config.identity_for_uid(people::own_uid())
    }

    /// Returns who this user is for a run: of the people with whom it began, if it has an approval
    /// policy.
    pub(crate) fn identity_in_run(&self, run: &Run) -> Identity {
        let uid = people::own_uid();
        match &run.approval {
            Some(rules) => Identity {
                person: person_for_uid(&rules.people, uid),
                proof: IdentityProof::Uid(uid),
            },
            None => self.own_identity(),
        }
    }

    /// Returns the names of the people who are configured, sorted.
    pub fn people_names(&self) -> Vec<String> {
        let known = self.config.known_people().unwrap_or_default();
        known.into_keys().map(|name| name.to_string()).collect()
    }

    /// Returns who made a decision that was found in the inbox; `None` if that is not known.
    pub(crate) fn identity_of(&self, run: &Run, posted: &PostedDecision) -> Option<Identity> {
        let pinned = run.approval.as_ref().map(|rules| &rules.people);
        let own = self.config.known_people().unwrap_or_default();
        let known = pinned.unwrap_or(&own);
        if let Some(signature) = &posted.signature {
            let statement = statement(run, &posted.decision)?;
            return self.verified_signer(known, &statement, signature);
        }
        let uid = posted.uid?;
        let owner = sole_writer(&self.folder);
        (Some(uid) == owner).then(|| Identity {
            person: person_for_uid(known, uid),
            proof: IdentityProof::Uid(uid),
        })
    }

    /// Returns the file of the key that git signs with.
    pub fn signing_key(&self) -> Result<PathBuf, SigningError> {
        let key = self.repo.signing_key().ok().flatten();
        key.ok_or(SigningError::NoKey)
    }

    /// Signs a decision with a key of the person's; `key` is the file of the private key, or of the
    /// public key if an agent has the private one.
    pub fn sign_decision(
        &self,
        run: &Run,
        decision: &Decision,
        key: &Path,
    ) -> Result<String, SigningError> {
        let statement = statement(run, decision).ok_or(SigningError::NothingToSign)?;
        let folder = self.signing_folder();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| SigningError::Io { path, source }
        };
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let file = folder.join(format!("{}.txt", unique_name()));
        fs::write(&file, &statement).map_err(failed(&file))?;
        let args = ["-Y", "sign", "-f"].map(str::to_owned).into_iter();
        let args: Vec<String> = args
            .chain([key.display().to_string()])
            .chain(["-n".to_owned(), people::NAMESPACE.to_owned()])
            .chain([file.display().to_string()])
            .collect();
        let done = process::run_program(&self.env.path, "ssh-keygen", &args, &folder);
        let signature = file.with_extension("txt.sig");
        let signed = match done {
            Ok(Some(done)) if done.succeeded => {
                fs::read_to_string(&signature).map_err(failed(&signature))
            }
            Ok(Some(done)) => Err(SigningError::Program(done.output)),
            Ok(None) => Err(SigningError::Program("it was not found".to_owned())),
            Err(error) => Err(SigningError::Program(error.to_string())),
        };
        for path in [file, signature] {
            // What stays behind is overwritten by nobody and secret to nobody.
            let _ = fs::remove_file(path);
        }
        signed
    }

    /// Returns the person whose key has signed a statement.
    fn verified_signer(
        &self,
        known: &BTreeMap<PersonName, Person>,
        statement: &str,
        signature: &str,
    ) -> Option<Identity> {
        let folder = self.signing_folder();
        fs::create_dir_all(&folder).ok()?;
        let name = unique_name();
        let signers = folder.join(format!("{name}.signers"));
        let signed = folder.join(format!("{name}.sig"));
        fs::write(&signed, signature).ok()?;
        let people = known.iter();
        let mut keys =
            people.flat_map(|(person, config)| config.keys.iter().map(move |key| (person, key)));
        let found = keys.find(|(person, key)| {
            let line = people::allowed_signer(person, key);
            fs::write(&signers, line).is_ok()
                && self.is_signed_by(person, &signers, &signed, statement.as_bytes())
        });
        let identity = found.map(|(person, key)| Identity {
            person: person.clone(),
            proof: IdentityProof::Signature(people::key_material(key).to_owned()),
        });
        for path in [signers, signed] {
            // What stays behind is secret to nobody.
            let _ = fs::remove_file(path);
        }
        identity
    }

    fn is_signed_by(
        &self,
        person: &PersonName,
        signers: &Path,
        signed: &Path,
        statement: &[u8],
    ) -> bool {
        let principal = people::encode_principal(person);
        let (signers, signed) = (signers.display().to_string(), signed.display().to_string());
        let args: [&str; 10] = [
            "-Y",
            "verify",
            "-f",
            &signers,
            "-I",
            &principal,
            "-n",
            people::NAMESPACE,
            "-s",
            &signed,
        ];
        let done = process::pipe_to_program(&self.env.path, "ssh-keygen", &args, statement);
        done.unwrap_or(false)
    }

    fn signing_folder(&self) -> PathBuf {
        self.folder.join("tmp")
    }
}

/// Returns a name for a file that no other decision uses.
fn unique_name() -> String {
    process::unique_mark("decision").replace('/', "-")
}

/// Returns the statement that is signed for a decision: which run, which question, which tree, which
/// answer and which words. `None` if the decision is about no question for approval.
fn statement(run: &Run, decision: &Decision) -> Option<String> {
    let (question, answer, note) = match decision {
        Decision::Answer {
            question,
            answer,
            note,
            ..
        } => (question, answer.clone(), note),
        // No answer has a space, so this is none.
        Decision::Delegate { question, to, note } => {
            (question, format!("delegate to {}", to.as_str()), note)
        }
        _ => return None,
    };
    let frame = run.frames.get(&question.frame)?;
    let pending = frame.approval.pending.as_deref()?;
    let pending = (pending.question == *question).then_some(pending)?;
    let note = blake3::hash(note.as_bytes()).to_hex();
    Some(format!(
        "codeteam decision 1\nrun {}\nquestion {question}\ntree {}\nanswer {answer}\nnote {note}\n",
        run.id, pending.tree
    ))
}

/// Returns the owner of a project's database, if nobody else may write it.
fn sole_writer(folder: &Path) -> Option<u32> {
    let owner = fs::metadata(folder.join("state.db")).ok()?.uid();
    let is_private = |path: &Path| match fs::metadata(path) {
        Ok(meta) => {
            let others = meta.mode() & 0o002 != 0;
            let group = meta.mode() & 0o020 != 0 && !people::is_group_of_one(meta.gid(), owner);
            meta.uid() == owner && !others && !group
        }
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    let files = ["state.db", "state.db-wal", "state.db-shm"];
    let all = files.iter().all(|name| is_private(&folder.join(name)));
    // In a folder that others may write, they could replace the files.
    (all && is_private(folder)).then_some(owner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_database_that_others_may_write_speaks_for_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.db");
        fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&file, 0o644);
        assert_eq!(sole_writer(folder.path()), Some(people::own_uid()));
        mode(&file, 0o666);
        assert_eq!(sole_writer(folder.path()), None);
        mode(&file, 0o600);
        mode(folder.path(), 0o777);
        assert_eq!(sole_writer(folder.path()), None);
        mode(folder.path(), 0o700);
        fs::write(folder.path().join("state.db-wal"), "").unwrap();
        mode(&folder.path().join("state.db-wal"), 0o666);
        assert_eq!(sole_writer(folder.path()), None);
    }
}
