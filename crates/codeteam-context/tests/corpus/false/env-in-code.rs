let token = std::env::var("TOKEN")?;
let token: Token = lexer.next_token();
match token { Token::Ident(name) => name, Token::Number { value: v64 } => v64 }
self.secret = Secret::from_base64(raw)?;
let password: &str = &self.password;
let api_key = key.strip_prefix("sk-").unwrap_or(key);
fn token_at(&self, index: usize) -> Option<&Token> { self.tokens.get(index) }
let pwd = env::current_dir()?;
