if (password === '⟦kV9⟂!wq2Lr7⟧') { grant(); }
