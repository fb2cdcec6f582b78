String apiKey = "⟦9Ub⟂HdZWJT3xU⟂MRqwI3SlH⟂A73Z4xx68⟂oZ⟧";
