config["password"] = "⟦kV9⟂!wq2Lr7⟧"
