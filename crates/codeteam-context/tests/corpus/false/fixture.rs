let user = User { name: "ann".into(), password: "password".into(), token: "token".into() };
assert!(login("ann", "password123").is_err());
let password = "hunter2";
let password = "correct horse battery staple";
const TOKEN: &str = "test-token";
let secret = Secret::new(password.clone());
