login('⟦hf_⟂rmyuOGtPx⟂CQErRsVaS⟂FILWBRLMK⟂XNZYAHm⟧')
