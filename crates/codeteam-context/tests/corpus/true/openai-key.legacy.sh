export OPENAI_API_KEY='⟦sk-⟂Plhyufgqq⟂tn2tVWZTI⟂BET3BlbkF⟂J4qySYr9S⟂5eJs1hakU⟂LQb⟧'
