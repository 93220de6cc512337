"""What is to be done to documents, as plans: pure functions that decide, writes that others commit."""
