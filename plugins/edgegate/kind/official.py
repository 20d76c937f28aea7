"""Official images of the components, pulled from their registries by the Docker engine.

pins.toml names repository and version, and the digest of the manifest where that is known; then the engine refuses
another one. Where it is not, what was pulled is said, and the report has it.
"""

from collections.abc import Sequence
from dataclasses import replace

from edgegate.errors import ImageUnusable, OfficialImageMissing, WrongImage
from edgegate.kind import given
from edgegate.kind.engine import Engine
from edgegate.kind.images import Image, Images
from edgegate.pins import Pin


def image(images: Images, engine: Engine, origin: str, pin: Pin, version: str, tags: Sequence[str]) -> Image:
    """Return the official image of a component, as an archive that every node can load.

    Args:
        images: the cache.
        engine: pulls it, unless it has it from a registry already.
        origin: the setting that asked for it, for messages.
        pin: whose image; its first repository counts.
        version: of the component.
        tags: how pods name it.

    Raises:
        OfficialImageMissing: it cannot be pulled.
        WrongImage: it has another digest than pins.toml says.
        ImageUnusable: it cannot run here.
    """
    name, pinned = f"{pin.images[0]}:v{version}", pin.image_digests.get(version, "")
    reference = f"{name}@{pinned}" if pinned else name
    # An image without a digest of a registry was made here, or loaded: nobody knows whether it is the official one.
    if not engine.manifest(reference):
        images.progress.step(f"image {pin.name}", "pulling")
        if said := engine.pull(reference):
            raise OfficialImageMissing(origin, reference, said=said.splitlines()[-1])
    manifest = engine.manifest(reference)
    if pinned and manifest != pinned:
        raise WrongImage(f"the tag {name} of the Docker engine", expected=pinned, actual=manifest)
    try:
        made = given.of_engine(images, engine, reference, f"official-{pin.name}", tags)
    except given.Unfit as unfit:
        raise ImageUnusable(origin, reference, why=str(unfit)) from unfit
    images.progress.say(f"image {pin.name}: {name}, {manifest}{'' if pinned else ' (not pinned)'}")
    return replace(made, source=f"{name}@{manifest}")
