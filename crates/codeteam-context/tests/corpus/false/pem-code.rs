const HEADER: &str = "-----BEGIN PRIVATE KEY-----";
if text.starts_with("-----BEGIN RSA PRIVATE KEY-----") {
    return Kind::Rsa;
}
let end = text.find("-----END RSA PRIVATE KEY-----")?;
assert!(pem.contains("-----BEGIN PRIVATE KEY-----") && pem.contains("-----END PRIVATE KEY-----"));
