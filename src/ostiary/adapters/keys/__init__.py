"""Where secrets that open other secrets are kept: under a passphrase, a recovery key, or in the system's keyring."""
