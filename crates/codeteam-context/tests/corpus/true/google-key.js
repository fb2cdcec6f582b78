firebase.initializeApp({ apiKey: "⟦AIz⟂aSyVCttlM⟂_v1tpFmBm⟂oRHoeaPLI⟂W3riF3cvo⟂⟧", projectId: "demo" });
