await page.fill('#password2', pw);
const password = '#password-field-2';
const token = 'input[name=token2]';
password: By.css('.password1'),
<input type="password" name="password2" id="pwd1">
<label for="password1">password: </label>
placeholder="Password (8+ characters)"
