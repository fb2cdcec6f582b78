headers = {'Authorization': 'Token ⟦e8b⟂ccfcacf7e⟂b367bd7cb⟂ae5f1d0a9⟂d332785d9⟂4⟧'}
