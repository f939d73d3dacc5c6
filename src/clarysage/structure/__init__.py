"""What is known of a model's insides."""
