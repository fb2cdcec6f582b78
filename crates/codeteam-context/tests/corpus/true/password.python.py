PASSWORD: str = "⟦kV9⟂!wq2Lr7⟧"
