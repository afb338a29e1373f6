"""The one place that judges a run and says when its verdict changed; and what it needs: the session, questions, bundles."""
