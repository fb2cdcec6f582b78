Stripe.api_key = "⟦sk_⟂live_GGzm⟂2iLB0GGpJ⟂ikpPpZ6X0⟂wG⟧"
