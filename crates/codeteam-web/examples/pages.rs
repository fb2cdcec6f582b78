//! Writes every page with the data of the tests, and the files that pages load, into a folder: to look
//! at them in a browser without a server.
//!
//! ```text
//! cargo run -p codeteam-web --example pages -- FOLDER [CRATE]
//! ```
//!
//! With the folder of the crate as the second argument, the templates and files are read from there,
//! so that they can be changed without a build.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use web::{fixture, page, routes};

use crate::page::Theme;

/// The modules of the crate, which are not public.
#[path = "../src"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "these are the crate's own modules, of which this calls a part"
)]
mod web {
    pub(crate) mod fixture;
    pub(crate) mod page;
    pub(crate) mod routes;
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = args.next().ok_or("name a folder to write to")?;
    let crate_folder = args.next();
    let templates = read_templates(crate_folder.as_deref())?;
    let env = page::environment::build_environment(
        templates
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )?;
    fs::create_dir_all(folder.join("assets"))?;
    write_assets(&folder.join("assets"), crate_folder.as_deref())?;
    let fixture = fixture::Fixture::recorded();
    for (theme, suffix) in [
        (Theme::Light, "light"),
        (Theme::Dark, "dark"),
        (Theme::Contrast, "contrast"),
    ] {
        for (name, page) in fixture.pages() {
            let shell = fixture.shell(&format!("/{name}"), theme);
            let html = page::render_with(&env, &shell, &page, None)?;
            let html = html.replace("=\"/assets/", "=\"assets/");
            fs::write(folder.join(format!("{name}.{suffix}.html")), html)?;
        }
    }
    Ok(())
}

/// Reads the templates: those of the program, or those of a folder.
fn read_templates(folder: Option<&Path>) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let names = page::environment::TEMPLATES.iter();
    let templates = names.map(|(name, text)| {
        let text = match folder {
            Some(folder) => fs::read_to_string(folder.join("templates").join(name))?,
            None => (*text).to_owned(),
        };
        Ok(((*name).to_owned(), text))
    });
    templates.collect()
}

/// Writes the files that pages load, by the names that pages use.
fn write_assets(to: &Path, folder: Option<&Path>) -> Result<(), Box<dyn Error>> {
    for (name, content) in page::assets::FILES {
        let text = match folder {
            Some(folder) => fs::read_to_string(folder.join("assets").join(name))?,
            None => (*content).to_owned(),
        };
        let text = page::assets::link_modules(&text);
        fs::write(to.join(page::assets::hashed_name(name)), text)?;
    }
    Ok(())
}
