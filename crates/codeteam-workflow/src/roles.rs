//! Role files, and the catalog that merges a role's layers.

mod catalog;
mod file;

pub(crate) use self::catalog::unknown_role;
pub use self::catalog::{ResolvedRole, RoleCatalog, RoleSource, SourceLayer};
pub use self::file::{OnGateFail, RoleFile, RoleGate, ValidatorFile, quality_points};
