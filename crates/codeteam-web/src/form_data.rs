//! Reads what forms and queries send: `application/x-www-form-urlencoded`.

/// The most fields of a form.
const MOST_FIELDS: usize = 200;

/// The fields of a form or a query, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FormData {
    fields: Vec<(String, String)>,
}

impl FormData {
    /// Reads fields; `None` if the text is not encoded as it should be.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            if fields.len() == MOST_FIELDS {
                return None;
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            fields.push((decode(name)?, decode(value)?));
        }
        Some(Self { fields })
    }

    /// Returns the first value of a field; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Returns the first value of a field that is not empty.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        Some(self.get(name).trim()).filter(|value| !value.is_empty())
    }
}

/// Takes back the encoding of a name or a value. NUL is no text.
fn decode(text: &str) -> Option<String> {
    let plain = text.replace('+', " ");
    let decoded = crate::routes::decode(&plain)?;
    // Browsers send line ends as two characters.
    let decoded = decoded.replace("\r\n", "\n");
    (!decoded.contains('\0')).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_browsers_send_them() {
        let form = FormData::parse("a=1+2&b=%C3%BC%26%0D%0Ax&c&a=3").unwrap();
        assert_eq!(form.get("a"), "1 2");
        assert_eq!(form.get("b"), "ü&\nx");
        assert_eq!(form.get("c"), "");
        assert_eq!(form.filled("c"), None);
        assert_eq!(form.get("d"), "");
        for bad in ["a=%", "a=%zz", "a=%ff", "a=%00"] {
            assert_eq!(FormData::parse(bad), None, "{bad}");
        }
        assert_eq!(FormData::parse(&"a=1&".repeat(MOST_FIELDS + 1)), None);
    }
}
