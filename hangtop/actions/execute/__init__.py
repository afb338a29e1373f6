"""Plans carried out, in processes that go on without the screen."""
