const SECRET: &str = "⟦ojm⟂iqW0p2jOp⟂iYQjhSmUi⟂8fu6S2ztn⟂wS⟧";
