"""Click models: how a user examines a list of results, and which of them the user clicks."""
