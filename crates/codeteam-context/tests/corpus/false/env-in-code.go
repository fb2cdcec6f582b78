token := os.Getenv("API_TOKEN")
req.Header.Set("Authorization", "Bearer "+token)
req.Header.Set("X-Api-Key", cfg.APIKey)
type Config struct {
	Password string `yaml:"password" json:"password,omitempty"`
	SecretKey []byte
}
if subtle.ConstantTimeCompare(token, t.Token2) == 1 {
