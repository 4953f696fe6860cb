"""The sheet One page: the whole computation on the first tab, in live links, drawn as `outline.one_page` says it."""
