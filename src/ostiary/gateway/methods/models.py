"""Models, and the owner's keys for them."""

from ostiary.contracts.model import ModelRef
from ostiary.gateway.methods.services import Call, ModelDesk, Services
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.models import (
    DeleteProfile,
    ListModels,
    Model,
    Models,
    ModelSet,
    ProfileNamed,
    Profiles,
    SetModel,
    SetProfile,
)
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Done, Nothing


def list_models(call: Call[ListModels]) -> Models:
    """The models an agent may use, and which one answers now."""
    services = call.services
    agent = call.params.agent or services.agents()[0]
    if agent not in services.agents():
        raise MethodError("NOT_FOUND", f"There is no agent {agent[:80]!r}.")
    current = services.catalogue.choose(agent).primary
    choices = list(services.catalogue.choices(agent))
    if all(facts.ref != current for facts in choices):
        choices.insert(0, services.catalogue.facts(current))
    desk = services.models
    rows = [
        Model(
            ref=str(facts.ref),
            name=facts.name or facts.ref.model,
            context_window=facts.context_window,
            reasons=facts.reasons,
            sees_images=facts.sees_images,
            alias=desk.alias(facts.ref) if desk is not None else "",
            current=facts.ref == current,
            usable=desk.is_usable(facts.ref) if desk is not None else True,
        )
        for facts in choices
    ]
    return Models(models=rows)


def list_profiles(call: Call[Nothing]) -> Profiles:
    """The credentials of model providers, masked."""
    return Profiles(profiles=list(_desk(call.services).profiles()))


async def set_profile(call: Call[SetProfile]) -> ProfileNamed:
    """Store a provider's secret, encrypted."""
    asked = call.params
    name = asked.id or f"{asked.provider}:default"
    await _desk(call.services).set_profile(name, asked.provider, asked.kind, asked.secret)
    return ProfileNamed(id=name)


async def delete_profile(call: Call[DeleteProfile]) -> Done:
    """Remove a provider's secret."""
    if not await _desk(call.services).delete_profile(call.params.id):
        raise MethodError("NOT_FOUND", f"There is no credential {call.params.id[:80]!r}.")
    return Done()


async def set_model(call: Call[SetModel]) -> ModelSet:
    """Make a model the one that answers by default."""
    services = call.services
    chosen = services.catalogue.choose(services.agents()[0], call.params.ref).primary
    return ModelSet(ref=str(chosen), generation=await _desk(services).set_primary(ModelRef.parse(str(chosen))))


def _desk(services: Services) -> ModelDesk:
    assert services.models is not None
    return services.models


METHODS = (
    Method("models.list", ListModels, Models, "read", list_models),
    Method("models.auth.list", Nothing, Profiles, "admin", list_profiles, needs="models"),
    Method("models.auth.set", SetProfile, ProfileNamed, "admin", set_profile, has_effect=True, needs="models"),
    Method("models.auth.delete", DeleteProfile, Done, "admin", delete_profile, has_effect=True, needs="models"),
    Method("models.set", SetModel, ModelSet, "admin", set_model, has_effect=True, needs="models"),
)
