"""The one place that judges a run and says when its verdict changed, with what it needs: a feed folded into a state, questions, bundles."""
