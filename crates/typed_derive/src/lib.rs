//! `#[derive(Key)]` of `foldb-typed`, whose trait `Key` documents it.

#![forbid(unsafe_code)]

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, LitStr, Member, Result, Type};

/// Derives the trait `Key` of `foldb-typed`.
#[proc_macro_derive(Key, attributes(key))]
pub fn derive_key(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The most variants: their numbers are bytes.
const MOST_VARIANTS: usize = 256;

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        let message = "Key cannot be derived for a type with parameters: implement it by hand";
        return Err(Error::new(input.generics.span(), message));
    }
    match &input.data {
        Data::Struct(data) => of_struct(&input.ident, &data.fields),
        Data::Enum(data) => of_enum(&input.ident, data),
        Data::Union(_) => Err(Error::new(input.ident.span(), "Key cannot be derived for a union")),
    }
}

/// The fields of a struct or a variant.
struct Parts {
    members: Vec<Member>,
    types: Vec<Type>,
    /// Names for the fields in a pattern.
    bound: Vec<Ident>,
    /// Statements that append the fields to a text `schema`.
    schema: TokenStream,
}

impl Parts {
    fn of(fields: &Fields) -> Result<Parts> {
        let are_named = matches!(fields, Fields::Named(_));
        let (open, close) = if are_named { ("{", "}") } else { ("(", ")") };
        let mut schema = quote! { schema.push_str(#open); };
        for (index, field) in fields.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let name = stored_field(field)?;
            let before = if are_named { format!("{comma}{name}:") } else { comma.to_owned() };
            let field = &field.ty;
            schema.extend(quote! {
                schema.push_str(#before);
                schema.push_str(&<#field as ::foldb_typed::Key>::schema());
            });
        }
        schema.extend(quote! { schema.push_str(#close); });
        Ok(Parts {
            members: fields.members().collect(),
            types: fields.iter().map(|field| field.ty.clone()).collect(),
            bound: (0..fields.len()).map(|index| format_ident!("field{index}")).collect(),
            schema,
        })
    }

    /// Returns the fields of a pattern.
    fn pattern(&self) -> TokenStream {
        let (members, bound) = (&self.members, &self.bound);
        quote! { #(#members: #bound),* }
    }

    fn encode(&self) -> TokenStream {
        let (types, bound) = (&self.types, &self.bound);
        quote! { #(<#types as ::foldb_typed::AsKey<#types>>::encode_key(#bound, out);)* }
    }

    /// Returns the fields of a literal, read one after the other.
    fn decode(&self) -> TokenStream {
        let (members, types) = (&self.members, &self.types);
        quote! { #(#members: <#types as ::foldb_typed::Key>::decode_key(bytes)?),* }
    }
}

fn of_struct(name: &Ident, fields: &Fields) -> Result<TokenStream> {
    let parts = Parts::of(fields)?;
    let (pattern, encode, decode) = (parts.pattern(), parts.encode(), parts.decode());
    let encode = quote! {
        let #name { #pattern } = self;
        #encode
    };
    let key = implementation(
        name,
        &encode,
        &parts.schema,
        &quote! {
            ::core::result::Result::Ok(#name { #decode })
        },
    );
    let fronts = (1..parts.types.len()).map(|given| front(name, &parts.types[..=given]));
    Ok(quote! { #key #(#fronts)* })
}

fn of_enum(name: &Ident, data: &syn::DataEnum) -> Result<TokenStream> {
    let count = data.variants.len();
    if count == 0 || count > MOST_VARIANTS {
        let message = format!("Key is derived for enums of 1 to {MOST_VARIANTS} variants");
        return Err(Error::new(name.span(), message));
    }
    let (mut encode, mut decode, mut schema) = (quote!(), quote!(), quote!());
    for (number, variant) in data.variants.iter().enumerate() {
        let number = number as u8;
        let (ident, parts) = (&variant.ident, Parts::of(&variant.fields)?);
        let (pattern, fields, read) = (parts.pattern(), parts.encode(), parts.decode());
        encode.extend(quote! { #name::#ident { #pattern } => { out.push(#number); #fields } });
        decode.extend(quote! { #number => ::core::result::Result::Ok(#name::#ident { #read }), });
        let comma = if number > 0 { "," } else { "" };
        let shown = format!("{comma}{}", stored_name(ident, &variant.attrs)?);
        schema.extend(quote! { schema.push_str(#shown); });
        if !variant.fields.is_empty() {
            schema.extend(parts.schema);
        }
    }
    let shown = name.to_string();
    let decode = quote! {
        match ::foldb_typed::derived::take_variant(bytes, #shown)? {
            #decode
            #[allow(unreachable_patterns)]
            other => ::core::result::Result::Err(
                ::foldb_typed::derived::unknown_variant(#shown, other, #count)
            ),
        }
    };
    let schema = quote! {
        schema.push_str("enum(");
        #schema
        schema.push_str(")");
    };
    Ok(implementation(name, &quote! { match self { #encode } }, &schema, &decode))
}

fn implementation(
    name: &Ident,
    encode: &TokenStream,
    schema: &TokenStream,
    decode: &TokenStream,
) -> TokenStream {
    quote! {
        impl ::foldb_typed::AsKey<#name> for #name {
            #[allow(unused_variables)]
            fn encode_key(&self, out: &mut ::std::vec::Vec<u8>) {
                #encode
            }
        }

        impl ::foldb_typed::Key for #name {
            fn schema() -> ::std::string::String {
                let mut schema = ::std::string::String::new();
                #schema
                schema
            }

            #[allow(unused_variables)]
            fn decode_key(bytes: &mut &[u8]) -> ::foldb_typed::Result<#name> {
                #decode
            }
        }
    }
}

/// Makes the tuple of all but the last of these first fields a prefix, and with a range of the last
/// one a range.
fn front(name: &Ident, types: &[Type]) -> TokenStream {
    let Some((next, given)) = types.split_last() else { return quote!() };
    let asked: Vec<_> = (0..given.len()).map(|index| format_ident!("Q{index}")).collect();
    let indexes: Vec<_> = (0..given.len()).map(syn::Index::from).collect();
    let at = syn::Index::from(given.len());
    quote! {
        impl<#(#asked: ::foldb_typed::AsKey<#given>),*> ::foldb_typed::AsPrefix<#name>
            for (#(#asked,)*)
        {
            fn encode_prefix(&self, out: &mut ::std::vec::Vec<u8>) {
                #(<#asked as ::foldb_typed::AsKey<#given>>::encode_key(&self.#indexes, out);)*
            }
        }

        impl<#(#asked: ::foldb_typed::AsKey<#given>,)* R: ::foldb_typed::AsRange<#next>>
            ::foldb_typed::AsRange<#name> for (#(#asked,)* R)
        {
            fn encode_range(&self, before: &[u8]) -> ::foldb_typed::EncodedRange {
                let mut before = before.to_vec();
                #(<#asked as ::foldb_typed::AsKey<#given>>::encode_key(
                    &self.#indexes,
                    &mut before,
                );)*
                <R as ::foldb_typed::AsRange<#next>>::encode_range(&self.#at, &before)
            }
        }
    }
}

/// Returns the stored name of a field; that of a field without a name is empty.
fn stored_field(field: &Field) -> Result<String> {
    match &field.ident {
        Some(ident) => stored_name(ident, &field.attrs),
        None => renamed(&field.attrs)?.map_or(Ok(String::new()), |name| {
            Err(Error::new(name.span(), "this field has no name"))
        }),
    }
}

fn stored_name(ident: &Ident, attributes: &[syn::Attribute]) -> Result<String> {
    let Some(name) = renamed(attributes)? else {
        let name = ident.to_string();
        return Ok(name.strip_prefix("r#").unwrap_or(&name).to_owned());
    };
    let text = name.value();
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    match is_name {
        true => Ok(text),
        false => Err(Error::new(name.span(), "a name has letters, digits and underscores")),
    }
}

/// Returns the name of an attribute `#[key(name = "…")]`.
fn renamed(attributes: &[syn::Attribute]) -> Result<Option<LitStr>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("key")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("name") {
                return Err(meta.error("expected name = \"…\""));
            }
            found = Some(meta.value()?.parse::<LitStr>()?);
            Ok(())
        })?;
    }
    Ok(found)
}
