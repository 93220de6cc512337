"""Model servers on loopback that speak each provider's wire as strictly as the provider does."""
