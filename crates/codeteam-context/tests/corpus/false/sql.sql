CREATE TABLE users (id uuid PRIMARY KEY, password_hash varchar(255) NOT NULL, token char(64), api_key_digest bytea);
SELECT token, secret FROM sessions WHERE token = $1 AND password = crypt($2, password);
UPDATE users SET password = :password, reset_token = NULL WHERE id = ?;
