//! The style sheet, the scripts and the icons. Their paths have a hash of all their content in them,
//! so that browsers may keep them for ever.

use std::sync::LazyLock;

use crate::routes::Route;

/// A file of the program that browsers load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageAsset {
    /// Its name in paths, with the hash: `base-0123abcd.css`.
    pub(crate) name: String,
    /// Its media type.
    pub(crate) media_type: &'static str,
    /// Its content.
    pub(crate) content: String,
}

/// Lists files with their content.
macro_rules! asset_files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../assets/", $name)))),*]
    };
}

/// All files, by the names that they have in the folder.
pub(crate) const FILES: &[(&str, &str)] = asset_files![
    "base.css",
    "app.js",
    "diff.js",
    "icon-needs-you.svg",
    "icon.svg",
    "keys.js",
    "live.js",
    "log.js",
    "morph.js",
    "palette.js",
    "worker.js",
];

/// All files as they are served.
static ASSETS: LazyLock<Vec<PageAsset>> = LazyLock::new(|| {
    let files = FILES.iter();
    files
        .map(|(name, content)| PageAsset {
            name: hashed_name(name),
            media_type: media_type(name),
            content: link_modules(content),
        })
        .collect()
});

/// A hash of all files. One for all of them, because scripts name each other.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for (name, content) in FILES {
        hasher.update(name.as_bytes());
        hasher.update(content.as_bytes());
    }
    hasher.finalize().to_hex()[..8].to_owned()
});

/// Returns the file of this name, with its hash.
pub(crate) fn find_asset(name: &str) -> Option<&'static PageAsset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// Returns true for the name of the style sheet, with its hash.
pub(crate) fn is_style_sheet(name: &str) -> bool {
    name == hashed_name("base.css")
}

/// Returns the path of a file.
pub(super) fn asset_path(name: &str) -> String {
    let name = hashed_name(name);
    Route::Asset { name }.to_string()
}

/// Returns the name of a file in paths.
pub(crate) fn hashed_name(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}-{}.{extension}", *VERSION),
        None => name.to_owned(),
    }
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

/// Puts the names with their hash where one script names another.
pub(crate) fn link_modules(content: &str) -> String {
    let mut content = content.to_owned();
    for (name, _) in FILES {
        content = content.replace(
            &format!("\"./{name}\""),
            &format!("\"./{}\"", hashed_name(name)),
        );
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_name_each_other_by_names_that_exist() {
        for asset in ASSETS.iter() {
            for name in asset.content.split("\"./").skip(1) {
                let name = name.split('"').next().unwrap();
                assert!(find_asset(name).is_some(), "{} names {name}", asset.name);
            }
        }
        assert_eq!(find_asset("base.css"), None);
        assert!(asset_path("base.css").starts_with("/assets/base-"));
    }
}
