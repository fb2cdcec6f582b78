//! The prices of tokens, for workers that report only how many they used.
//!
//! **Invariant:** an unknown price stays unknown. The cost of a model without a price is unknown,
//! never zero.

use std::collections::BTreeMap;

use codeteam_core::budget::Usage;

use crate::model_api::{ModelPrice, usd_to_microusd};

/// Adds the cost to a usage, if the worker did not report it and the model's price is known.
pub(crate) fn with_cost(
    mut usage: Usage,
    model: Option<&str>,
    prices: &BTreeMap<String, ModelPrice>,
) -> Usage {
    // The usage of a worker that was ended before it reported anything is unknown, not zero.
    let has_told = usage.input_tokens > 0 || usage.output_tokens > 0;
    if usage.cost_microusd.is_none() && has_told {
        let price = model.and_then(|model| longest_match(model, prices));
        usage.cost_microusd = price.map(|price| cost(&usage, price));
    }
    usage
}

/// Returns the price of a model, if it is known.
pub(crate) fn find_price(
    model: Option<&str>,
    prices: &BTreeMap<String, ModelPrice>,
) -> Option<ModelPrice> {
    model
        .and_then(|model| longest_match(model, prices))
        .copied()
}

/// Returns the price of a model by its name, or by the longest matching prefix that ends in `*`.
fn longest_match<'p>(
    model: &str,
    prices: &'p BTreeMap<String, ModelPrice>,
) -> Option<&'p ModelPrice> {
    prices.get(model).or_else(|| {
        let fitting = prices.iter().filter_map(|(pattern, price)| {
            let start = pattern.strip_suffix('*')?;
            model.starts_with(start).then_some((start.len(), price))
        });
        fitting
            .max_by_key(|(length, _)| *length)
            .map(|(_, price)| price)
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody uses more tokens than a double counts"
)]
fn cost(usage: &Usage, price: &ModelPrice) -> u64 {
    let cached = usage.cached_input_tokens.min(usage.input_tokens);
    let fresh = (usage.input_tokens - cached) as f64;
    let dollars = fresh * price.input
        + cached as f64 * price.cached_input.unwrap_or(price.input)
        + usage.output_tokens as f64 * price.output;
    usd_to_microusd(dollars / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_found_by_the_longest_name_and_unknown_stays_unknown() {
        let price = |input| ModelPrice {
            input,
            output: 10.0,
            cached_input: Some(0.1),
        };
        let prices = BTreeMap::from([
            ("gpt-*".to_owned(), price(1.0)),
            ("gpt-5*".to_owned(), price(2.0)),
            ("gpt-5.5".to_owned(), price(3.0)),
        ]);
        let usage = Usage {
            input_tokens: 2_000_000,
            cached_input_tokens: 1_000_000,
            output_tokens: 100_000,
            cost_microusd: None,
        };
        let cost = |model: &str| with_cost(usage, Some(model), &prices).cost_microusd;
        assert_eq!(cost("gpt-5.5"), Some(3_000_000 + 100_000 + 1_000_000));
        assert_eq!(cost("gpt-5.5-mini"), Some(2_000_000 + 100_000 + 1_000_000));
        assert_eq!(cost("gpt-4"), Some(1_000_000 + 100_000 + 1_000_000));
        assert_eq!(cost("other"), None);
        assert_eq!(with_cost(usage, None, &prices).cost_microusd, None);
        let silent = with_cost(Usage::default(), Some("gpt-5.5"), &prices);
        assert_eq!(silent.cost_microusd, None, "it told of no tokens");
        let told = Usage {
            cost_microusd: Some(7),
            ..usage
        };
        let told = with_cost(told, Some("gpt-5.5"), &prices);
        assert_eq!(told.cost_microusd, Some(7), "the worker knows best");
    }
}
