"""The order of the tutorials: what most people need first; new ones follow by name."""

ORDER = (
    "noise_by_row",
    "class_decisions",
    "posterior_checks",
    "messy_table",
    "counts_and_survival",
    "own_module",
    "any_density",
    "five_modes",
    "effective_draws",
)


class GalleryOrder:
    """The key by which sphinx-gallery sorts."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Of a file."""
        stem = name.removesuffix(".py")
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)
