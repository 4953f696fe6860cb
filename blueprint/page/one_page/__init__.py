"""The sheet One page: the whole computation on the first tab, in live links, drawn as `outline.items.OnePage` says it."""
