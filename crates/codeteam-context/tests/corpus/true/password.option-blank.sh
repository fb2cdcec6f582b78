createuser --password ⟦kV9⟂wq2Lr7x⟧ --no-login
