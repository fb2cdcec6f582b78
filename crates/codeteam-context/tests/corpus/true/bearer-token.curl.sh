curl -H "Authorization: Bearer ⟦fd8⟂731822a99⟂f7b107b5b⟂4c24d4a23⟂77⟧" https://api.acme.dev/v1/me
