curl -sS -u ada:⟦kV9⟂wq2Lr7x⟧ https://api.acme.dev/v1/me
curl --user "ci:⟦hun⟂ter22⟧" -X POST https://ci.acme.dev/build
