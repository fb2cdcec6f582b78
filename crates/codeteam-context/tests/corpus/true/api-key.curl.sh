curl -H 'X-Api-Key: ⟦c59⟂b7c043219⟂7d1333081⟂0605fb799⟂af⟧' https://api.acme.dev/
