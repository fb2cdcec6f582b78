token = TOK_IDENT2; /* token: see y.tab.h */
if (token == TOKEN_EOF1) return token;
case TOKEN_INT64: token->kind = KIND_INT64; break;
struct token *tok2 = next_token(lexer1);
#define SECRET_SIZE 0x20
static const char *token_names[] = { "ident", "int64" };
passwd = getpwuid(uid)->pw_passwd;
