//! Removes bodies that nothing needs any more. Which those are, the caller knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use super::packs::BodyPack;
use super::{BodyStore, Error, io_error};

impl BodyStore {
    /// Returns the ids of all bodies, with their lengths.
    pub fn lengths(&self) -> Result<BTreeMap<String, u64>, Error> {
        let mut lengths = BTreeMap::new();
        for index in self.indexes()? {
            match BodyPack::open(&index).and_then(|pack| pack.entries()) {
                Ok(entries) => {
                    lengths.extend(entries.into_iter().map(|(id, part)| (id, part.length)));
                }
                // Somebody has just merged it into another.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return self.lengths(),
                Err(error) => return Err(io_error("read", &index)(error)),
            }
        }
        for (id, _, length) in self.loose_bodies()? {
            lengths.insert(id, length);
        }
        Ok(lengths)
    }

    /// Removes these bodies. Nobody may be about to name one of them: [`BodyStore::put`] returns
    /// the id of a body that is there already without writing it again. Returns false if somebody
    /// else is packing, and nothing was removed.
    pub fn remove(&self, ids: &BTreeSet<String>) -> Result<bool, Error> {
        let Some(_lock) = self.lock_packs()? else {
            return Ok(false);
        };
        for index in self.indexes()? {
            let pack = BodyPack::open(&index).map_err(io_error("open", &index))?;
            let entries = pack.entries().map_err(io_error("read", &index))?;
            if !entries.iter().any(|(id, _)| ids.contains(id)) {
                continue;
            }
            // The rest is written to a pack of its own first. If something in it is damaged, the
            // old pack stays as it is.
            let rest = entries.into_iter().filter(|(id, _)| !ids.contains(id));
            self.replace_pack(&index, rest.collect())?;
        }
        for (id, path, _) in self.loose_bodies()? {
            if ids.contains(&id) {
                fs::remove_file(&path).map_err(io_error("remove", &path))?;
            }
        }
        Ok(true)
    }
}
