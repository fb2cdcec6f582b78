let be_private_key_buffer: Curve25519SeedBin = my_private.as_be_bytes().unwrap();
self, private_key: ed25519.Ed25519PrivateKey, f_priv: _FragList
signing_key: Ed25519SigningKey,
access_token = OAuth2AccessToken
hashed_password: "$argon2id$v=19$m=65536,t=3,p=4$C29tZXNhbHQ$HjCmSuVNBuwesnW2iEVCl8"
