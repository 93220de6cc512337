"""Images arrive as data: URLs and become blobs. Nothing is fetched from anywhere."""

import binascii
from base64 import b64decode
from collections.abc import MutableMapping
from hashlib import sha256

from ostiary.contracts.messages import Attachment
from ostiary.contracts.pictures import PICTURES, picture_type_of
from ostiary.gateway.errors import ApiError
from ostiary.gateway.limits import Limits


def take(url: str, path: str, blobs: MutableMapping[str, bytes], limits: Limits) -> Attachment:
    """Decode one image into `blobs`. Raises ApiError 400 if it is not a small enough image of a known kind."""
    head, comma, data = url.partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    if not (comma and head.startswith("data:") and head.endswith(";base64") and media_type in PICTURES):
        raise _wrong(
            path, f"expected data:<type>;base64,... with a type of {', '.join(sorted(PICTURES))}; addresses are not fetched"
        )
    if len(data) * 3 // 4 > limits.image_bytes + 3:
        raise _wrong(path, f"the image is larger than {limits.image_bytes} bytes")
    try:
        content = b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(path, "the image is not valid base64") from None
    if picture_type_of(content) != media_type:
        raise _wrong(path, f"the bytes are not {media_type}")
    digest = sha256(content).hexdigest()
    if digest not in blobs and len(blobs) >= limits.images:
        raise _wrong(path, f"more than {limits.images} images in one request")
    blobs[digest] = content
    return Attachment(
        name=f"{digest[:12]}.{media_type.removeprefix('image/')}", media_type=media_type, digest=digest, size=len(content)
    )


def _wrong(path: str, what: str) -> ApiError:
    return ApiError(400, f"{path}: {what}.", code="invalid_image", param=path)
