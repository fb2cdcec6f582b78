var key = "" +
	"⟦---⟂--BEGIN R⟂SA PRIVAT⟂E KEY----⟂-⟧\n" +
	"⟦p0+⟂Edy73g0t3⟂TzGuEtOPX⟂oCJqDRvNg⟂/T7F7U7m9⟂x1nCUIFbL⟂AgnohbPKc⟂JlyE4If\n⟂⟧" +
	"⟦BmU⟂thFIjpYrN⟂fPCgjDP8u⟂HYxl/k7OZ⟂thiuzvOoo⟂JQ6L9XGlh⟂Zlpf53V9+⟂OKHM3Ue\n⟂⟧" +
	"⟦XuL⟂GiMyT9pVl⟂hGz/RVUbZ⟂Cz6oaIKkN⟂x7ioU4N1U⟂maobk4e43⟂9GKEKCIvY⟂Lhx5CPH\n⟂⟧" +
	"⟦ltd⟂/QdV4PVHl⟂wte70z6qs⟂KGId7TvMN⟂==\n⟧" +
	"⟦---⟂--END RSA⟂ PRIVATE ⟂KEY-----⟧\n"
