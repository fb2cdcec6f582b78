//! An element of a page.

use serde_json::{Value, json};

use super::session::{BrowserError, DriverSession, element_argument};

/// An element of the page that is shown, as long as that page has it.
#[derive(Debug)]
pub struct PageElement<'a> {
    session: &'a DriverSession,
    id: String,
}

impl<'a> PageElement<'a> {
    pub(super) fn new(session: &'a DriverSession, id: String) -> Self {
        Self { session, id }
    }

    /// Clicks in its middle. It is an error if something else lies there.
    pub fn click(&self) -> Result<(), BrowserError> {
        let path = format!("element/{}/click", self.id);
        self.session.post(&path, &json!({})).map(drop)
    }

    /// Gives it the focus and types a text into it.
    pub fn type_text(&self, text: &str) -> Result<(), BrowserError> {
        let path = format!("element/{}/value", self.id);
        self.session.post(&path, &json!({"text": text})).map(drop)
    }

    /// Returns its text as a person sees it.
    pub fn text(&self) -> Result<String, BrowserError> {
        self.session.get_text(&format!("element/{}/text", self.id))
    }

    /// Returns the role that assistive technology announces.
    pub fn role(&self) -> Result<String, BrowserError> {
        let path = format!("element/{}/computedrole", self.id);
        self.session.get_text(&path)
    }

    /// Returns the name that assistive technology announces, with single spaces.
    pub fn name(&self) -> Result<String, BrowserError> {
        let path = format!("element/{}/computedlabel", self.id);
        let name = self.session.get_text(&path)?;
        Ok(name.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Returns an attribute as the page's source has it.
    pub fn attribute(&self, name: &str) -> Result<Option<String>, BrowserError> {
        let path = format!("element/{}/attribute/{name}", self.id);
        Ok(self.session.get(&path)?.as_str().map(str::to_owned))
    }

    /// Returns a property, such as the `value` of a field or what `checked` is.
    pub fn property(&self, name: &str) -> Result<Value, BrowserError> {
        let script = "return arguments[0][arguments[1]]";
        let arguments = [element_argument(&self.id), json!(name)];
        self.session.run_script(script, &arguments)
    }

    /// Returns a property of its style, as it came out.
    pub fn style(&self, property: &str) -> Result<String, BrowserError> {
        let path = format!("element/{}/css/{property}", self.id);
        self.session.get_text(&path)
    }
}
